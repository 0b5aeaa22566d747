// What the module tells of a solve, in the order of src/solve/record.rs.

/** Numbers and texts of a solve. */
export function rawSolve({
  success = true, termination = 'cost-tolerance', arithmetic = 'f64', message = 'done', solver = 'a solver', engine = 'an engine', linearSolver = '', findings = '',
  iterations = 3, functionEvaluations = 4, loss = 0, initialCost = 1, finalCost = 0, computationTime = 1, checkIsDue = false, tolerances = [1e-8, 1e-8, 1e-8], promise = NaN, newtonDecrement = NaN, radius = NaN,
  whole = [1, 4, 4, 4, 4], reduced = whole, times = {}, x = [], history = [],
} = {}) {
  const texts = [termination, arithmetic, message, solver, engine, linearSolver, findings, ...Object.keys(times)];
  const head = [Number(success), iterations, functionEvaluations, loss, initialCost, finalCost, computationTime, Number(checkIsDue), ...tolerances, promise, ...whole, ...reduced, x.length, texts.length, newtonDecrement, radius];
  return [Float64Array.from([...head, ...texts.map(({ length }) => length), ...Object.values(times), ...x, ...history]), texts.join('')];
}
