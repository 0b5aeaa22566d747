// The viewer's camera: its view, and the projection to WebGPU's clip space.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lightDirection, OrbitCamera } from '../../www/viewer/camera.js';

const project = ({ viewProjection }, [x, y, z]) => {
  const [cx, cy, cz, cw] = [0, 1, 2, 3].map((row) => viewProjection[row] * x + viewProjection[4 + row] * y + viewProjection[8 + row] * z + viewProjection[12 + row]);
  return { x: cx / cw, y: cy / cw, depth: cz / cw, w: cw };
};
const SPHERE = { center: [3, -2, 5], radius: 2 };
/** The matrix is in single precision, and its entries are below 100. */
const ROUNDING = 1e-5;

test('the whole sphere is visible, in pictures of any shape and from any side', () => {
  for (const aspect of [0.4, 1, 2.5]) {
    for (const [azimuth, elevation] of [[0, 0], [2, 1], [-4, -9], [1, 9]]) {
      const camera = new OrbitCamera();
      camera.frame(SPHERE);
      camera.turn(azimuth, elevation);
      const view = camera.view(aspect);
      const middle = project(view, SPHERE.center);
      assert.ok(Math.abs(middle.x) < ROUNDING && Math.abs(middle.y) < ROUNDING);
      for (const axis of [0, 1, 2]) {
        for (const side of [-1, 1]) {
          const { x, y, depth, w } = project(view, SPHERE.center.map((c, d) => (d === axis ? c + side * SPHERE.radius : c)));
          assert.ok(Math.abs(x) <= 1 && Math.abs(y) <= 1 && depth > 0 && depth < 1 && w > 0);
        }
      }
    }
  }
});

test("nearer points have smaller depth, and up and right are the picture's", () => {
  const camera = new OrbitCamera();
  camera.frame(SPHERE);
  const view = camera.view(1.5);
  const moved = (direction) => project(view, SPHERE.center.map((c, d) => c + direction[d]));
  assert.ok(moved(view.back).depth < moved(view.back.map((c) => -c)).depth);
  assert.ok(moved(view.up).y > 0 && Math.abs(moved(view.up).x) < ROUNDING);
  assert.ok(moved(view.right).x > 0 && Math.abs(moved(view.right).y) < ROUNDING);
});

test('zoom moves closer within limits, and reset restores the initial view', () => {
  const camera = new OrbitCamera();
  const first = camera.view(1);
  camera.zoomBy(2);
  camera.turn(1, 0.2);
  assert.ok(camera.view(1).eye.some((c, d) => Math.abs(c - first.eye[d]) > 0.1));
  camera.zoomBy(1e9);
  assert.ok(Math.hypot(...camera.view(1).eye) > 0);
  camera.reset();
  assert.deepEqual(camera.view(1).eye, first.eye);
});

test('the light is a unit direction on the side of the eye', () => {
  const view = new OrbitCamera().view(1);
  const light = lightDirection(view);
  assert.ok(Math.abs(Math.hypot(...light) - 1) < 1e-12);
  assert.ok(light.reduce((sum, c, d) => sum + c * view.back[d], 0) > 0);
});
