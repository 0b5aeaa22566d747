/**
 * The picture of a pose graph: the path as a thin line, loop closures coloured by their residuals, and a small vehicle at each pose that
 * shows its heading. Takes the stage and an Unfolding. Everything that moves is drawn from the solver's buffer, lines by an index buffer
 * over its positions.
 */
import * as THREE from 'three/webgpu';
import { attribute, cross, float, mix, smoothstep, uniform, vec3 } from 'three/tsl';
import { MovingNumbers } from './moving-numbers.js';
import { LIMITS, sortByClass } from './residual-classes.js';

/** From small to large residuals, on a light and on a dark page: sRGB. */
export const CLASS_COLOURS = {
  light: ['#1f8a70', '#8a9a1b', '#d08a00', '#d4511e', '#b0123b'],
  dark: ['#43c59e', '#b9cf4a', '#ffc145', '#ff7f50', '#ff4d7d'],
};
const PATH_COLOUR = { light: '#7d8aa3', dark: '#5f6f8c' };
const TRUTH_COLOUR = { light: '#c3c9d4', dark: '#39424f' };
const VEHICLE_COLOUR = { light: '#2459a8', dark: '#8ab8ff' };

/** A flat-bottomed dart of length 1 along x with a notched back; the top is lighter than the sides. */
const DART = {
  points: [[0.6, 0, 0], [-0.4, 0.3, 0], [-0.22, 0, 0], [-0.4, -0.3, 0], [-0.25, 0, 0.22]],
  faces: [[0, 1, 4, 1], [0, 4, 3, 0.8], [1, 2, 4, 0.65], [3, 4, 2, 0.55], [0, 2, 1, 0.45], [0, 3, 2, 0.45]],
};

/** The length of a typical step, which is the length of a vehicle. */
function stepLength({ dimension, measuredPositions }) {
  const lengths = [];
  for (let edge = 0; edge < measuredPositions.length; edge += dimension) lengths.push(Math.hypot(...measuredPositions.subarray(edge, edge + dimension)));
  lengths.sort((a, b) => a - b);
  return lengths[lengths.length >> 1] || 1;
}

export class GraphPicture {
  #stage;
  #unfolding;
  #objects = [];
  #themed = [];
  #pathEdges;
  #index;
  #ends;
  #phase = uniform(1);
  #size = uniform(1);

  /**
   * @param {import('../stage.js').Stage} stage
   * @param {import('./model.js').Unfolding} unfolding
   */
  constructor(stage, unfolding) {
    this.#stage = stage;
    this.#unfolding = unfolding;
    const { graph, shape, groups } = unfolding;
    this.step = stepLength(graph);
    this.places = new MovingNumbers(stage, THREE.BufferAttribute, graph.positions, shape.position);
    this.instancedPlaces = new MovingNumbers(stage, THREE.InstancedBufferAttribute, graph.positions, shape.position);
    this.turns = new MovingNumbers(stage, THREE.InstancedBufferAttribute, graph.rotations, shape.rotation);
    this.#ends = Uint32Array.from(groups.closures.flatMap((edge) => [graph.edges[2 * edge], graph.edges[2 * edge + 1]]));
    const path = Uint32Array.from(groups.odometry.flatMap((edge) => [graph.edges[2 * edge], graph.edges[2 * edge + 1]]));
    this.#index = Uint32Array.from([...path, ...this.#ends]);
    this.#pathEdges = groups.odometry.length;
    this.#addLines();
    this.#addVehicles();
    if (graph.truth !== undefined) this.#addTruth();
    this.appear(stage.appearance);
  }

  /** A point of the plane or of space as a point of space. */
  #inSpace(node) {
    return this.#unfolding.graph.dimension === 3 ? node : vec3(node, 0);
  }

  /** Eases the animation between two steps. */
  #gliding(now, before, type) {
    return mix(attribute(before, type), attribute(now, type), smoothstep(0, 1, this.#phase));
  }

  #coloured(material, colours) {
    this.#themed.push((theme) => material.color.set(colours[theme]));
    return material;
  }

  /** Sets the colours of a page's theme. */
  appear({ background }) {
    for (const take of this.#themed) take(background[0] < 0.5 ? 'dark' : 'light');
  }

  #add(object) {
    // Its bounding sphere would be computed from numbers that were not read back, and sorting needs one.
    object.frustumCulled = false;
    object.geometry.boundingSphere = new THREE.Sphere();
    this.#stage.scene.add(object);
    this.#objects.push(object);
    return object;
  }

  #addLines() {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', this.places.now);
    geometry.setAttribute('before', this.places.before);
    geometry.setIndex(new THREE.BufferAttribute(this.#index, 1));
    const place = this.#inSpace(this.#gliding('position', 'before', `vec${this.#unfolding.shape.position}`));
    const material = (colours, opacity) => {
      const made = this.#coloured(new THREE.LineBasicNodeMaterial({ transparent: opacity < 1, opacity, depthWrite: opacity === 1 }), colours);
      made.positionNode = place;
      return made;
    };
    const classes = Array.from({ length: LIMITS.length + 1 }, (_, k) => material({ light: CLASS_COLOURS.light[k], dark: CLASS_COLOURS.dark[k] }, k === 0 ? 0.75 : 0.9));
    this.lines = this.#add(new THREE.LineSegments(geometry, [material(PATH_COLOUR, 0.8), ...classes]));
    this.#setGroups([this.#ends.length / 2, ...LIMITS.map(() => 0)]);
  }

  #setGroups(counts) {
    const { geometry } = this.lines;
    geometry.clearGroups();
    let start = 0;
    [this.#pathEdges, ...counts].forEach((count, material) => {
      if (count > 0) geometry.addGroup(start, 2 * count, material);
      start += 2 * count;
    });
  }

  #addVehicles() {
    const { graph, shape } = this.#unfolding;
    const geometry = new THREE.InstancedBufferGeometry();
    const corners = DART.faces.flatMap(([a, b, c]) => [a, b, c]);
    geometry.setAttribute('position', new THREE.BufferAttribute(Float32Array.from(corners.flatMap((corner) => DART.points[corner])), 3));
    geometry.setAttribute('shade', new THREE.BufferAttribute(Float32Array.from(DART.faces.flatMap(([, , , shade]) => [shade, shade, shade])), 1));
    geometry.setAttribute('place', this.instancedPlaces.now);
    geometry.setAttribute('placeBefore', this.instancedPlaces.before);
    geometry.setAttribute('turn', this.turns.now);
    geometry.setAttribute('turnBefore', this.turns.before);
    geometry.instanceCount = this.#unfolding.poses;

    const place = this.#inSpace(this.#gliding('place', 'placeBefore', `vec${shape.position}`));
    const corner = attribute('position', 'vec3').mul(this.#size);
    const material = new THREE.MeshBasicNodeMaterial({ side: THREE.DoubleSide });
    material.positionNode = place.add(graph.dimension === 3 ? this.#turnedInSpace(corner) : this.#turnedInPlane(corner));
    const colour = uniform(new THREE.Color());
    material.colorNode = colour.mul(attribute('shade', 'float'));
    this.#themed.push((theme) => colour.value.set(VEHICLE_COLOUR[theme]));
    this.vehicles = this.#add(new THREE.Mesh(geometry, material));
    this.vehicleSize = 1;
  }

  /** Rotation by the quaternion w, x, y, z between before and now: v + 2 u × (u × v + w v). */
  #turnedInSpace(v) {
    // Adjacent quaternions may represent the same rotation with either sign.
    const [now, before] = [attribute('turn', 'vec4'), attribute('turnBefore', 'vec4')];
    const near = before.mul(now.dot(before).lessThan(0).select(float(-1), float(1)));
    const q = mix(near, now, smoothstep(0, 1, this.#phase)).normalize();
    const [w, u] = [q.x, q.yzw];
    return v.add(cross(u, cross(u, v).add(v.mul(w))).mul(2));
  }

  #turnedInPlane(v) {
    const heading = this.#gliding('turn', 'turnBefore', 'float');
    const [c, s] = [heading.cos(), heading.sin()];
    return vec3(v.x.mul(c).sub(v.y.mul(s)), v.x.mul(s).add(v.y.mul(c)), v.z);
  }

  #addTruth() {
    const { graph: { dimension, truth } } = this.#unfolding;
    const points = Array.from({ length: truth.positions.length / dimension }, (_, k) => new THREE.Vector3(...truth.positions.subarray(dimension * k, dimension * (k + 1))));
    this.truth = this.#add(new THREE.Line(new THREE.BufferGeometry().setFromPoints(points), this.#coloured(new THREE.LineBasicNodeMaterial(), TRUTH_COLOUR)));
    this.truth.visible = false;
  }

  /** 1 is the length of a typical step. */
  set vehicleSize(factor) {
    this.#size.value = factor * this.step;
    this.vehicles.visible = factor > 0;
  }

  drawFrom(functions) {
    const { positions, rotations } = this.#unfolding;
    this.places.drawFrom(functions, positions);
    this.instancedPlaces.drawFrom(functions, positions);
    this.turns.drawFrom(functions, rotations);
    this.phase = 1;
  }

  /** Before a step: the start of the animation. */
  keep() {
    for (const numbers of [this.places, this.instancedPlaces, this.turns]) numbers.keep();
    this.phase = 0;
  }

  /** 0 before the step, 1 after it. */
  get phase() {
    return this.#phase.value;
  }

  set phase(value) {
    this.#phase.value = Math.min(1, Math.max(0, value));
  }

  /** Colours the loop closures by their residuals; returns the number in each class. */
  colour(residuals) {
    const counts = sortByClass(residuals, this.#unfolding.blocks.closures, this.#ends, this.#index.subarray(2 * this.#pathEdges));
    this.lines.geometry.index.needsUpdate = true;
    this.#setGroups(counts);
    return counts;
  }

  dispose() {
    for (const numbers of [this.places, this.instancedPlaces, this.turns]) numbers.letGo();
    for (const object of this.#objects) {
      object.removeFromParent();
      object.geometry.dispose();
      for (const material of [object.material].flat()) material.dispose();
    }
  }
}
