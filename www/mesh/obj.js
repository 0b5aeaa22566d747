/**
 * Wavefront OBJ files of triangle meshes: reads `v` and `f` lines, and writes them. Texture coordinates, normals, groups and materials are
 * skipped. An invalid file throws an ObjError with the line. Repairs are listed in `notes`.
 */

/** An invalid OBJ file; `line` counts from 1. */
export class ObjError extends Error {
  constructor(line, message) {
    super(`OBJ line ${line}: ${message}`);
    this.name = 'ObjError';
    this.line = line;
  }
}

/** Keywords of OBJ files that a triangle mesh does not need. */
const SKIPPED = new Set([
  'vt', 'vn', 'vp', 'g', 'o', 's', 'l', 'p', 'mg', 'mtllib', 'usemtl', 'usemap', 'maplib', 'shadow_obj', 'trace_obj', 'bevel', 'c_interp', 'd_interp', 'lod',
]);

/** Number() also accepts hexadecimal, empty strings and "Infinity". */
const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const WHOLE = /^[+-]?\d+$/;

/** The most characters of a bad word that a message quotes. */
const quoted = (word) => `"${word.length > 24 ? `${word.slice(0, 24)}…` : word}"`;

const counted = (count, one, many) => `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;

/** Lines with their numbers. A backslash at the end continues a line, which has the number of its first part. */
function* logicalLines(text) {
  const lines = text.split(/\r\n|\n|\r/);
  for (let i = 0; i < lines.length; i++) {
    const line = i + 1;
    let content = lines[i];
    while (content.endsWith('\\') && i + 1 < lines.length) content = `${content.slice(0, -1)} ${lines[++i]}`;
    const comment = content.indexOf('#');
    if (comment >= 0) content = content.slice(0, comment);
    content = content.trim();
    if (content !== '') yield { line, words: content.split(/\s+/) };
  }
}

function readVertex(words, line) {
  if (words.length < 4) throw new ObjError(line, `a vertex takes three coordinates, this one has ${words.length - 1}`);
  return [1, 2, 3].map((i) => {
    const value = DECIMAL.test(words[i]) ? Number(words[i]) : NaN;
    const wrong = (why) => new ObjError(line, `coordinate ${'xyz'[i - 1]} of the vertex is ${quoted(words[i])}, which is ${why}`);
    if (!Number.isFinite(value)) throw wrong('not a finite decimal number');
    // Coordinates must be finite in f32, and so must their squares, from which areas are computed.
    if (!Number.isFinite(Math.fround(value))) throw wrong('larger than single precision holds, 3.4e38');
    return value;
  });
}

/** The vertex number, from 0, of one corner: "7", "7/1", "7//3" or "7/1/3". Negative numbers count back from the latest vertex. */
function readCorner(word, line, verticesSoFar) {
  const parts = word.split('/');
  if (parts.length > 3 || !WHOLE.test(parts[0]) || parts.slice(1).some((part) => part !== '' && !WHOLE.test(part))) {
    throw new ObjError(line, `${quoted(word)} is not a corner of a face; it takes a vertex number, and after slashes a texture and a normal number`);
  }
  const number = Number(parts[0]);
  if (number === 0) throw new ObjError(line, 'a face uses vertex 0; vertices are counted from 1');
  if (number < 0) {
    if (-number > verticesSoFar) throw new ObjError(line, `a face uses vertex ${number}, counted back from the last, but only ${counted(verticesSoFar, 'vertex stands', 'vertices stand')} above it`);
    return verticesSoFar + number;
  }
  return number - 1;
}

/** Reads all lines: positions, and triangle corners with the line of each. */
function readLines(text) {
  const positions = [], triangles = [], triangleLines = [];
  const polygons = { count: 0, line: 0 }, repeated = { count: 0, line: 0 }, unknown = { count: 0, line: 0, word: '' };
  let lastLine = 1;
  for (const { line, words } of logicalLines(text)) {
    lastLine = line;
    if (words[0] === 'v') {
      positions.push(...readVertex(words, line));
    } else if (words[0] === 'f') {
      if (words.length < 4) throw new ObjError(line, `a face takes at least three corners, this one has ${words.length - 1}`);
      const corners = words.slice(1).map((word) => readCorner(word, line, positions.length / 3));
      if (corners.length > 3 && polygons.count++ === 0) polygons.line = line;
      for (let k = 1; k + 1 < corners.length; k++) {
        const [a, b, c] = [corners[0], corners[k], corners[k + 1]];
        if (a === b || b === c || c === a) {
          if (repeated.count++ === 0) repeated.line = line;
          continue;
        }
        triangles.push(a, b, c);
        triangleLines.push(line);
      }
    } else if (!SKIPPED.has(words[0]) && unknown.count++ === 0) {
      unknown.line = line;
      unknown.word = words[0];
    }
  }
  return { positions, triangles, triangleLines, polygons, repeated, unknown, lastLine };
}

/** The number of vertices is known only at the end: a face may precede its vertices. */
function checkRange({ positions, triangles, triangleLines }) {
  const vertexCount = positions.length / 3;
  for (let corner = 0; corner < triangles.length; corner++) {
    if (triangles[corner] >= vertexCount) {
      throw new ObjError(triangleLines[Math.floor(corner / 3)], `a face uses vertex ${triangles[corner] + 1}, but the file has ${counted(vertexCount, 'vertex', 'vertices')}`);
    }
  }
}

/** Removes vertices that no face uses. They would be parameters without an energy. */
function dropUnused(positions, triangles) {
  const renumbered = new Int32Array(positions.length / 3).fill(-1);
  for (const vertex of triangles) renumbered[vertex] = 0;
  let kept = 0;
  for (let vertex = 0; vertex < renumbered.length; vertex++) if (renumbered[vertex] === 0) renumbered[vertex] = kept++;
  const keptPositions = new Float64Array(3 * kept);
  for (let vertex = 0; vertex < renumbered.length; vertex++) {
    if (renumbered[vertex] >= 0) for (let d = 0; d < 3; d++) keptPositions[3 * renumbered[vertex] + d] = positions[3 * vertex + d];
  }
  return { positions: keptPositions, triangles: Uint32Array.from(triangles, (vertex) => renumbered[vertex]), dropped: renumbered.length - kept };
}

/**
 * Removes triangles without a normal in f32. A triangle with two corners at one position has no angles, so it is removed. One that rounding
 * cannot distinguish from a line (twice the area below 1e-7 of the longest edge squared) stays and is reported.
 */
function sortOutFlattened({ positions, triangles, triangleLines }) {
  const collapsed = { count: 0, line: 0 }, flattened = { count: 0, line: 0 };
  const kept = [];
  const samePlace = (p, q) => [0, 1, 2].every((d) => Math.fround(positions[p + d]) === Math.fround(positions[q + d]));
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    if (samePlace(a, b) || samePlace(b, c) || samePlace(c, a)) {
      if (collapsed.count++ === 0) collapsed.line = triangleLines[t / 3];
      continue;
    }
    kept.push(triangles[t], triangles[t + 1], triangles[t + 2]);
    const u = [0, 1, 2].map((d) => positions[b + d] - positions[a + d]);
    const w = [0, 1, 2].map((d) => positions[c + d] - positions[a + d]);
    const twiceArea = Math.hypot(u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]);
    const longest = Math.max(Math.hypot(...u), Math.hypot(...w), Math.hypot(u[0] - w[0], u[1] - w[1], u[2] - w[2]));
    if (twiceArea <= 1e-7 * longest * longest && flattened.count++ === 0) flattened.line = triangleLines[t / 3];
  }
  return { kept, collapsed, flattened };
}

/**
 * Reads a mesh. Polygons are cut into triangles from their first corner. Faces with two corners at one vertex or position, and vertices
 * that no face uses, are removed. `notes` lists the removals, and other faces without area, which stay.
 * @param {string} text the file
 * @returns {{ positions: Float64Array, triangles: Uint32Array, notes: string[] }}
 * @throws {ObjError} for an invalid line, and for a file without a face
 */
export function parseObj(text) {
  const read = readLines(text);
  if (read.positions.length === 0) throw new ObjError(read.lastLine, 'the file ends without a vertex ("v x y z")');
  checkRange(read);
  const { kept, collapsed, flattened } = sortOutFlattened(read);
  if (kept.length === 0) {
    const faces = read.triangles.length > 0 || read.repeated.count > 0 ? 'a face with three corners in different places' : 'a face ("f 1 2 3")';
    throw new ObjError(read.lastLine, `the file ends without ${faces}`);
  }
  const { positions, triangles, dropped } = dropUnused(read.positions, kept);

  const notes = [];
  const { polygons, repeated, unknown } = read;
  if (polygons.count > 0) notes.push(`${counted(polygons.count, 'face with more than three corners was', 'faces with more than three corners were')} cut into triangles (first on line ${polygons.line}).`);
  if (repeated.count > 0) notes.push(`${counted(repeated.count, 'triangle that uses a vertex twice was', 'triangles that use a vertex twice were')} left out (first on line ${repeated.line}).`);
  if (collapsed.count > 0) notes.push(`${counted(collapsed.count, 'triangle with two corners in one place was', 'triangles with two corners in one place were')} left out (first on line ${collapsed.line}).`);
  if (dropped > 0) notes.push(`${counted(dropped, 'vertex that no face uses was', 'vertices that no face uses were')} left out.`);
  if (flattened.count > 0) notes.push(`${counted(flattened.count, 'triangle has', 'triangles have')} no area (first on line ${flattened.line}).`);
  if (unknown.count > 0) notes.push(`${counted(unknown.count, 'line was', 'lines were')} not understood and skipped (first: line ${unknown.line}, ${quoted(unknown.word)}).`);
  return { positions, triangles, notes };
}

/**
 * Writes a mesh as an OBJ file, each number with the fewest digits that restore it exactly.
 * @param {{ positions: ArrayLike<number>, triangles: ArrayLike<number> }} mesh
 * @param {string} [comment] written on the first lines
 */
export function writeObj({ positions, triangles }, comment = '') {
  const lines = comment === '' ? [] : comment.split('\n').map((line) => `# ${line}`);
  for (let i = 0; i < positions.length; i += 3) lines.push(`v ${positions[i]} ${positions[i + 1]} ${positions[i + 2]}`);
  for (let t = 0; t < triangles.length; t += 3) lines.push(`f ${triangles[t] + 1} ${triangles[t + 1] + 1} ${triangles[t + 2] + 1}`);
  return `${lines.join('\n')}\n`;
}
