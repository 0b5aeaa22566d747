/**
 * A triangle mesh as demos show it: one flat shade a face, its normal that of the plane through neighbouring pixels' points (so that moving vertices
 * need no normals), the inside in a colour of its own. Takes the stage, positions and triangles; gives a three.js Mesh whose position attribute can be
 * drawn from a solver's buffer.
 */
import * as THREE from 'three/webgpu';
import { float, frontFacing, normalFlat, select, uniform, vec3 } from 'three/tsl';

/** In the camera's space, so that creases show from everywhere: from above, and a little from the left. */
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
  // Its bounding sphere would be that of numbers that nobody has brought back.
  mesh.frustumCulled = false;
  stage.scene.add(mesh);
  return mesh;
}
