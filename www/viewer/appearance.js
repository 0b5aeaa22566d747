/**
 * The colours of a drawn mesh (sRGB, red, green and blue from 0 to 1), for a light and a dark page. The brightness of a face is `ambient +
 * (1 − ambient) · ((1 + N·L) / 2)²`, so creases are visible on the side away from the light too. MeshRenderer and MeshPainter use the same
 * formula.
 */
export const APPEARANCES = {
  light: { background: [0.957, 0.961, 0.969], surface: [0.36, 0.56, 0.86], inside: [0.83, 0.55, 0.42], ambient: 0.22 },
  dark: { background: [0.086, 0.098, 0.118], surface: [0.47, 0.68, 0.98], inside: [0.9, 0.6, 0.45], ambient: 0.15 },
};

const darkPreferred = globalThis.matchMedia?.('(prefers-color-scheme: dark)');

/** The colour scheme that the reader has chosen. */
export function currentAppearance() {
  return darkPreferred?.matches ? APPEARANCES.dark : APPEARANCES.light;
}

/** Calls back when the colour scheme changes. */
export function onAppearanceChange(callback) {
  darkPreferred?.addEventListener('change', callback);
}
