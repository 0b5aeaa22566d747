/** Numbers of a query parameter, separated by commas, or the default ones. */
export const numbers = (parameters, name, defaults) => (parameters.has(name) ? parameters.get(name).split(',').map(Number) : defaults);
