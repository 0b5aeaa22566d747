/** The numbers of a query parameter, separated by commas, or the defaults. */
export const numbers = (parameters, name, defaults) => (parameters.has(name) ? parameters.get(name).split(',').map(Number) : defaults);
