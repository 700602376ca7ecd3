// The only place where the tests import the package's adapter for crossws.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export { default, millraceAdapter } from '../../js/dist/crossws.mjs';
