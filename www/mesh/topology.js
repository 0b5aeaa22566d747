/**
 * The topology of a triangle mesh: the ordered neighbours of each vertex, and every edge once. Takes the faces; returns flat arrays in the
 * form that `ParameterArray.star` takes (offsets, then indices).
 *
 * A corner of a face is a half-edge: corner h of face (v, b, c) at v leaves along b and returns along c. The next corner around v is the
 * one that leaves along c. Where every corner has exactly one next, the faces form a ring. Where one chain contains them all, the vertex is
 * on a boundary. Every other vertex (three faces on an edge, two fans that touch in a point, faces of opposite orientation) is irregular,
 * and its faces are listed as pairs of neighbours.
 */

/** Lists of varying length, filled one after another: vertices[i] has indices[offsets[i] .. offsets[i + 1]]. */
class Stars {
  #vertices = [];
  #offsets = [0];
  #indices = [];

  add(vertex, indices) {
    this.#vertices.push(vertex);
    for (const index of indices) this.#indices.push(index);
    this.#offsets.push(this.#indices.length);
  }

  flat() {
    return { vertices: Uint32Array.from(this.#vertices), offsets: Uint32Array.from(this.#offsets), indices: Uint32Array.from(this.#indices) };
  }
}

/** The corners at each vertex, by counting sort: vertex v has corners[offsets[v] .. offsets[v + 1]], in the order of the faces. */
function cornersByVertex(vertexCount, triangles) {
  const offsets = new Uint32Array(vertexCount + 1);
  for (const vertex of triangles) offsets[vertex + 1]++;
  for (let v = 0; v < vertexCount; v++) offsets[v + 1] += offsets[v];
  const corners = new Uint32Array(triangles.length);
  const cursor = offsets.slice();
  for (let corner = 0; corner < triangles.length; corner++) corners[cursor[triangles[corner]]++] = corner;
  return { offsets, corners };
}

const outgoing = (triangles, corner) => triangles[corner % 3 === 2 ? corner - 2 : corner + 1];
const incoming = (triangles, corner) => triangles[corner % 3 === 0 ? corner + 2 : corner - 1];

/**
 * @param {number} vertexCount
 * @param {Uint32Array} triangles three vertex numbers a face, each below vertexCount
 * @returns {{
 *   edges: Uint32Array, boundaryEdgeCount: number, nonManifoldEdgeCount: number,
 *   interior: { vertices: Uint32Array, offsets: Uint32Array, indices: Uint32Array },
 *   boundary: { vertices: Uint32Array, offsets: Uint32Array, indices: Uint32Array },
 *   irregular: { vertices: Uint32Array, offsets: Uint32Array, indices: Uint32Array },
 * }} `edges`: two vertices an edge, the smaller first. Interior: face i of a vertex is (vertex, indices[i], indices[i + 1]), the last one closes
 *   the ring. Boundary: the same without closing. Irregular: face i is (vertex, indices[2i], indices[2i + 1]). A vertex without a face is in none.
 */
export function meshTopology(vertexCount, triangles) {
  const { offsets, corners } = cornersByVertex(vertexCount, triangles);
  const interior = new Stars(), boundary = new Stars(), irregular = new Stars();
  const edges = [];
  let boundaryEdgeCount = 0, nonManifoldEdgeCount = 0;

  // Scratch arrays by neighbour, valid where `seenAt` is the current vertex. They need no clearing, so the time is linear in the faces.
  const seenAt = new Int32Array(vertexCount).fill(-1);
  const cornerOut = new Int32Array(vertexCount);
  const outCount = new Uint32Array(vertexCount), inCount = new Uint32Array(vertexCount);

  for (let v = 0; v < vertexCount; v++) {
    const at = corners.subarray(offsets[v], offsets[v + 1]);
    if (at.length === 0) continue;
    const neighbours = [];
    const visit = (neighbour) => {
      if (seenAt[neighbour] === v) return;
      seenAt[neighbour] = v;
      cornerOut[neighbour] = -1;
      outCount[neighbour] = inCount[neighbour] = 0;
      neighbours.push(neighbour);
    };
    for (const corner of at) {
      const b = outgoing(triangles, corner), c = incoming(triangles, corner);
      visit(b);
      visit(c);
      cornerOut[b] = corner;
      outCount[b]++;
      inCount[c]++;
    }

    let starts = 0, first = outgoing(triangles, at[0]), regular = true;
    for (const neighbour of neighbours) {
      if (outCount[neighbour] > 1 || inCount[neighbour] > 1) regular = false;
      if (inCount[neighbour] === 0) {
        starts++;
        first = neighbour;
      }
      if (neighbour > v) {
        edges.push(v, neighbour);
        const faces = outCount[neighbour] + inCount[neighbour];
        if (faces === 1) boundaryEdgeCount++;
        if (faces > 2) nonManifoldEdgeCount++;
      }
    }
    const ring = regular && starts <= 1 ? walk(first, cornerOut, triangles) : [];
    if (starts === 0 && ring.length === at.length) interior.add(v, ring);
    else if (starts === 1 && ring.length === at.length + 1) boundary.add(v, ring);
    else irregular.add(v, Array.from(at).flatMap((corner) => [outgoing(triangles, corner), incoming(triangles, corner)]));
  }
  return {
    edges: Uint32Array.from(edges), boundaryEdgeCount, nonManifoldEdgeCount,
    interior: interior.flat(), boundary: boundary.flat(), irregular: irregular.flat(),
  };
}

/** The neighbours from `first` on, face by face, to the end of the ring or the boundary. */
function walk(first, cornerOut, triangles) {
  const ring = [first];
  for (let at = first; cornerOut[at] >= 0;) {
    at = incoming(triangles, cornerOut[at]);
    if (at === first) break;
    ring.push(at);
  }
  return ring;
}
