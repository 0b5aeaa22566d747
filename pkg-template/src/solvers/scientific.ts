/** A number with an exponent, as reports write it: so many digits after the point, or without `digits` as few as tell it from its neighbours. */
export const scientific = (value: number, digits?: number): string => value.toExponential(digits).replace('+', '');
