// The only place where the tests import the package's part for Sockety.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export * from '../../js/dist/sockety.mjs';
