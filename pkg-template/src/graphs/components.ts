/** Connected parts of a graph, and whether something holds each. */

export class Components {
  private readonly parents: Int32Array;
  private readonly isHeld: Uint8Array;

  constructor(count: number) {
    this.parents = Int32Array.from({ length: count }, (_, k) => k);
    this.isHeld = new Uint8Array(count);
  }

  /** Connects two vertices. One of −1 stands for what is held: it holds the other's part. */
  join(a: number, b: number): void {
    if (a < 0) this.hold(b);
    else if (b < 0) this.hold(a);
    else {
      const [first, other] = [this.rootOf(a), this.rootOf(b)];
      this.parents[Math.max(first, other)] = Math.min(first, other);
      if (this.isHeld[other] === 1) this.hold(first);
      if (this.isHeld[first] === 1) this.hold(other);
    }
  }

  /** Holds the part of a vertex. */
  hold(vertex: number): void {
    this.isHeld[this.rootOf(vertex)] = 1;
  }

  /** Returns the first vertex of each part that nothing holds. */
  free(): number[] {
    const roots: number[] = [];
    for (let vertex = 0; vertex < this.parents.length; vertex++) if (this.parents[vertex] === vertex && this.isHeld[vertex] === 0) roots.push(vertex);
    return roots;
  }

  private rootOf(vertex: number): number {
    const { parents } = this;
    let root = vertex;
    while (parents[root] !== root) root = parents[root] as number;
    for (let at = vertex; at !== root; ) [at, parents[at]] = [parents[at] as number, root];
    return root;
  }
}
