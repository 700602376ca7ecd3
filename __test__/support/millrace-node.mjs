// The one place where the tests name the package's part for listeners of Node.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export * from '../../js/dist/node.mjs';
