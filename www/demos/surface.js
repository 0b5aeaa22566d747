/**
 * A triangle mesh of the demos: one flat shade per face, with the normal of the plane through adjacent pixels' points, so that moving
 * vertices need no normals; the inside has another colour. Takes the stage, positions and triangles; returns a three.js Mesh whose position
 * attribute can be drawn from a solver's buffer.
 */
import * as THREE from 'three/webgpu';
import { float, frontFacing, normalFlat, select, uniform, vec3 } from 'three/tsl';

/** In the camera's space, so that creases are visible from every side: from above and slightly from the left. */
const LIGHT = new THREE.Vector3(-0.35, 0.75, 0.6).normalize();

/**
 * @param {import('./stage.js').Stage} stage
 * @param {{ positions: ArrayLike<number>, triangles: Uint32Array }} mesh
 * @returns {THREE.Mesh} added to the scene
 */
export function surface(stage, { positions, triangles }) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(Float32Array.from(positions), 3));
  geometry.setIndex(new THREE.BufferAttribute(triangles, 1));

  const outside = uniform(new THREE.Color()), inside = uniform(new THREE.Color()), ambient = uniform(0);
  const facing = normalFlat.dot(vec3(LIGHT.x, LIGHT.y, LIGHT.z)).mul(0.5).add(0.5);
  const brightness = ambient.add(float(1).sub(ambient).mul(facing.mul(facing)));
  const material = new THREE.MeshBasicNodeMaterial({ side: THREE.DoubleSide });
  material.colorNode = select(frontFacing, outside, inside).mul(brightness);
  stage.onAppearance((appearance) => {
    outside.value.setRGB(...appearance.surface, THREE.SRGBColorSpace);
    inside.value.setRGB(...appearance.inside, THREE.SRGBColorSpace);
    ambient.value = appearance.ambient;
  });

  const mesh = new THREE.Mesh(geometry, material);
  // Its bounding sphere would be computed from numbers that were not read back.
  mesh.frustumCulled = false;
  stage.scene.add(mesh);
  return mesh;
}
