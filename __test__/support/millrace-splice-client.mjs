// The one place where the tests name the client under test.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export * from '../../js/dist/splice-client.mjs';
