// Which groups of www/checks are of solvers.
const SOLVERS = new Set([
  'bundle-adjustment', 'constraints', 'covariance', 'energies', 'engines-together', 'grids', 'growth', 'known-minima', 'levenberg-marquardt', 'loops', 'losses', 'manifolds', 'newton', 'range', 'solve', 'solve-many', 'weights',
]);

export const isOfSolvers = (group) => SOLVERS.has(group);
