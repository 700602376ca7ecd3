// The only place where the tests import the package's part for low-level sockets.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export * from '../../js/dist/sockets.mjs';
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export { default } from '../../js/dist/sockets.mjs';
