// The only place where the tests import the splice client.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export * from '../../js/dist/splice-client.mjs';
