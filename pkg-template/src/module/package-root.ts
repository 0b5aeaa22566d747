/** The way from the folder of this module to that of the package. Bundles lie elsewhere: xtask/bundle.mjs has another one for them. */
export const PACKAGE_ROOT = '../../';
