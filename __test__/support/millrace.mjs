// The only place where the tests import the package under test.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export * from '../../js/dist/index.mjs';
