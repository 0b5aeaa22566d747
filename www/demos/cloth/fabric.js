/**
 * The drawn cloth: a checked fabric under two lights, with marks at pins. Takes the stage and the grid; returns a three.js mesh whose
 * positions and normals can be drawn from buffers on the device.
 */
import * as THREE from 'three/webgpu';
import { abs, float, fract, fwidth, mix, smoothstep, uniform, uv, vec2 } from 'three/tsl';

/** Colours by theme, sRGB: the ground, the wide check, the thin line, the pins. */
const COLOURS = {
  light: { ground: 0xf2ede0, check: 0x2f6f9f, line: 0xc8553d, pin: 0x33383f, sky: 0xffffff, earth: 0x8d8577, sun: 2.2, ambient: 1.5 },
  dark: { ground: 0xe6dfcf, check: 0x2d6fa8, line: 0xd4623f, pin: 0xd5dae2, sky: 0xbfd0ea, earth: 0x3a3632, sun: 2.3, ambient: 1.1 },
};
const CHECKS = 9;
const MOST_PINS = 500;

/** Two triangles per square of the grid, counterclockwise seen from the side of its normals. */
export function gridTriangles({ rows, columns }) {
  const triangles = new Uint32Array(6 * (rows - 1) * (columns - 1));
  let filled = 0;
  for (let row = 0; row + 1 < rows; row++) {
    for (let column = 0; column + 1 < columns; column++) {
      const a = row * columns + column, b = a + columns;
      triangles.set([a, a + 1, b, a + 1, b + 1, b], filled);
      filled += 6;
    }
  }
  return triangles;
}

/** 1 inside a stripe around the middle of each unit of `coordinate`, with edges one pixel wide. */
function stripe(coordinate, width) {
  const distance = abs(fract(coordinate).sub(0.5));
  const soft = fwidth(coordinate).mul(0.75).max(1e-4);
  return float(1).sub(smoothstep(float(width / 2).sub(soft), float(width / 2).add(soft), distance));
}

/** @param {import('../stage.js').Stage} stage */
export function fabric(stage, grid, positions) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(Float32Array.from(positions), 3));
  geometry.setAttribute('normal', new THREE.BufferAttribute(new Float32Array(3 * grid.count), 3));
  const places = new Float32Array(2 * grid.count);
  for (let vertex = 0; vertex < grid.count; vertex++) {
    places[2 * vertex] = (vertex % grid.columns) / (grid.columns - 1);
    places[2 * vertex + 1] = Math.floor(vertex / grid.columns) / (grid.rows - 1);
  }
  geometry.setAttribute('uv', new THREE.BufferAttribute(places, 2));
  geometry.setIndex(new THREE.BufferAttribute(gridTriangles(grid), 1));

  const [ground, check, line] = [0, 1, 2].map(() => uniform(new THREE.Color()));
  const material = new THREE.MeshPhysicalNodeMaterial({ side: THREE.DoubleSide, roughness: 0.85, sheen: 0.6, sheenRoughness: 0.5 });
  const at = uv().mul(CHECKS);
  const wide = stripe(at.x, 0.5).add(stripe(at.y, 0.5)).mul(0.5);
  const thin = stripe(at.x.add(0.5), 0.06).max(stripe(at.y.add(0.5), 0.06));
  const hem = float(1).sub(smoothstep(0.0, 0.004, vec2(uv()).sub(0.5).abs().toVar().x.max(uv().sub(0.5).abs().y).sub(0.492).negate()));
  material.colorNode = mix(mix(mix(ground, check, wide.mul(0.95)), line, thin.mul(0.85)), check, hem);

  const mesh = new THREE.Mesh(geometry, material);
  mesh.frustumCulled = false;
  const sun = new THREE.DirectionalLight(0xffffff, 1);
  sun.position.set(-1.5, 2.5, 2);
  const sky = new THREE.HemisphereLight(0xffffff, 0x888888, 1);

  const pinMaterial = new THREE.MeshStandardNodeMaterial({ roughness: 0.4 });
  const pinGeometry = new THREE.SphereGeometry(0.022, 20, 14);
  const pins = new THREE.InstancedMesh(pinGeometry, pinMaterial, MOST_PINS);
  pins.count = 0;
  pins.frustumCulled = false;

  const group = new THREE.Group();
  group.add(mesh, pins, sun, sky);
  stage.scene.add(group);

  let left = false;
  stage.onAppearance(() => {
    if (left) return;
    const theme = COLOURS[matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'];
    ground.value.setHex(theme.ground);
    check.value.setHex(theme.check);
    line.value.setHex(theme.line);
    pinMaterial.color.setHex(theme.pin);
    sky.color.setHex(theme.sky);
    sky.groundColor.setHex(theme.earth);
    sky.intensity = theme.ambient;
    sun.intensity = theme.sun;
  });

  return {
    mesh, positions: geometry.attributes.position, normals: geometry.attributes.normal,
    /** Draws marks at these places, up to a maximum. */
    showPins(places) {
      const shown = places.slice(0, MOST_PINS);
      const matrix = new THREE.Matrix4();
      shown.forEach((place, k) => pins.setMatrixAt(k, matrix.makeTranslation(...place)));
      pins.count = shown.length;
      pins.instanceMatrix.needsUpdate = true;
      stage.redraw();
    },
    /** To be called after letGo of its attributes. */
    dispose() {
      left = true;
      group.removeFromParent();
      for (const part of [geometry, material, pinGeometry, pinMaterial, pins]) part.dispose();
    },
  };
}
