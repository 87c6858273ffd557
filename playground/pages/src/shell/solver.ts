// The solver's module: playground/wasm/solver. Its functions are those of package playground/solver.

import { compile } from "./module";

/** A problem between two clouds, or between two histograms on an axis. */
export interface Clouds {
  x: Float64Array; // coordinates, [n, 2]
  y: Float64Array; // [m, 2]
  mu?: Float64Array; // masses; uniform if missing
  nu?: Float64Array;
  cost: number; // 0 cosine, 1 squared Euclidean, 2 Euclidean
  exact: boolean;
  center: number;
  epsilon: number;
  rho: number; // 0: exact marginals
  sweeps: number;
  tolerance: number;
  start?: Float64Array;
}

export interface Plan {
  plan: Float64Array; // [n, m]
  f: Float64Array;
  g: Float64Array;
  rows: Float64Array; // masses of the plan's rows and columns
  columns: Float64Array;
  trace: Float64Array; // marginal error after each sweep
  linear: number;
  entropic: number;
  primal: number;
  dual: number;
  sweeps: number;
  outer: number;
  marginalError: number;
  change: number;
}

export interface Graph {
  points: Float64Array; // [n, 2]
  edges: Int32Array; // pairs
  colors: Int32Array;
}

export interface Graphs {
  a: Graph;
  b: Graph;
  structure: number; // 0 edges, 1 distances
  epsilon: number;
  sigma: number;
  factor: number;
  outer: number;
  sweeps: number;
  tolerance: number;
  loop: number; // 0 projected gradient, 1 proximal point
  truth?: Int32Array;
}

export interface Matching extends Plan {
  features: number;
  structures: number;
  truthStructures?: number;
}

type Answer<T> = T | { error: string } | undefined; // undefined: the module failed

interface Functions {
  transport(problem: Clouds): Answer<Plan>;
  divergence(problem: Clouds): Answer<{ divergence: number }>;
  barycenter(problem: Clouds & { z: Float64Array; t: number; steps: number }): Answer<{ z: Float64Array }>;
  gromov(problem: Graphs): Answer<Matching>;
}

declare const saot: Functions;

export class Solver {
  private constructor(private readonly go: Functions, private readonly instance: WebAssembly.Instance) {}

  /** The bytes of the module's memory. */
  memory(): number {
    return (this.instance.exports.mem as WebAssembly.Memory).buffer.byteLength;
  }

  /** Loads the module. It runs until the page is left; ended hears if it fails before. */
  static async load(ended: () => void): Promise<Solver> {
    const [instance, go] = await compile("solver");
    void go.run(instance).then(ended, ended);
    return new Solver(saot, instance);
  }

  transport = (problem: Clouds) => checked(this.go.transport(problem));
  divergence = (problem: Clouds) => checked(this.go.divergence(problem)).divergence;
  barycenter = (problem: Clouds, z: Float64Array, t: number, steps: number) =>
    checked(this.go.barycenter({ ...problem, z, t, steps })).z;
  gromov = (problem: Graphs) => checked(this.go.gromov(problem));
}

/** An answer, or an exception with the solver's words. */
function checked<T extends object>(answer: Answer<T>): T {
  if (!answer) throw new Error("no answer");
  if ("error" in answer) throw new Error(answer.error);
  return answer;
}
