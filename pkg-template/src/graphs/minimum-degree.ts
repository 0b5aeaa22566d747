/**
 * Orders the vertices of a sparse symmetric matrix for its Cholesky factorisation by approximate minimum degree on a quotient graph
 * (P. Amestoy, T. Davis, I. Duff, "An Approximate Minimum Degree Ordering Algorithm", 1996), and gives the rows of each column of the factor.
 */

/** The pivots in their order. `below[k]` are the vertices in the rows below the diagonal of the k-th pivot's column. */
export interface Elimination {
  readonly pivots: Int32Array;
  readonly below: readonly (readonly number[])[];
}

/** @param adjacent the neighbours of each vertex, each once and without the vertex itself. The lists are replaced. */
export function minimumDegree(adjacent: number[][]): Elimination {
  const count = adjacent.length;
  const pivots = new Int32Array(count);
  const below: number[][] = [];
  /** The vertices of each element, that is of each eliminated pivot; empty once another element contains them. */
  const members: number[][] = Array.from({ length: count }, () => []);
  const elements: number[][] = Array.from({ length: count }, () => []);
  const isDone = new Uint8Array(count);
  const isMember = new Int32Array(count).fill(-1);
  const countedAt = new Int32Array(count).fill(-1);
  const outside = new Int32Array(count);
  const degree = Int32Array.from(adjacent, (list) => list.length);
  // A vertex is in the bucket of each degree that it has had; all but the last are out of date.
  const buckets: number[][] = Array.from({ length: count }, () => []);
  for (let vertex = 0; vertex < count; vertex++) (buckets[degree[vertex] as number] as number[]).push(vertex);
  let least = 0;
  const next = (): number => {
    for (;;) {
      const vertex = (buckets[least] as number[]).pop();
      if (vertex === undefined) least++;
      else if (isDone[vertex] === 0 && degree[vertex] === least) return vertex;
    }
  };
  for (let step = 0; step < count; step++) {
    const pivot = next();
    pivots[step] = pivot;
    isDone[pivot] = 1;
    const rows: number[] = [];
    const take = (vertex: number): void => {
      if (isDone[vertex] === 1 || isMember[vertex] === step) return;
      isMember[vertex] = step;
      rows.push(vertex);
    };
    (adjacent[pivot] as number[]).forEach(take);
    for (const element of elements[pivot] as number[]) {
      (members[element] as number[]).forEach(take);
      members[element] = [];
    }
    adjacent[pivot] = elements[pivot] = [];
    members[pivot] = rows;
    below.push(rows);
    for (const vertex of rows) {
      for (const element of elements[vertex] as number[]) {
        if (countedAt[element] !== step) outside[element] = (members[element] as number[]).length;
        countedAt[element] = step;
        (outside[element] as number)--;
      }
    }
    for (const vertex of rows) {
      const own = (adjacent[vertex] as number[]).filter((other) => isDone[other] === 0 && isMember[other] !== step);
      let reached = own.length + rows.length - 1;
      const kept: number[] = [];
      for (const element of elements[vertex] as number[]) {
        // All vertices of an element without others are in the new one.
        if (members[element]?.length === 0 || outside[element] === 0) continue;
        kept.push(element);
        reached += outside[element] as number;
      }
      kept.push(pivot);
      adjacent[vertex] = own;
      elements[vertex] = kept;
      const bound = Math.min(reached, (degree[vertex] as number) + rows.length - 1, count - step - 2);
      degree[vertex] = bound;
      (buckets[bound] as number[]).push(vertex);
      least = Math.min(least, bound);
    }
  }
  return { pivots, below };
}
