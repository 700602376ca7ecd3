// The only place where the tests import `millrace/http`; see millrace.mjs.
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export * from '../../js/dist/http.mjs';
// biome-ignore lint/correctness/useImportExtensions: the built file, not its types
export { default } from '../../js/dist/http.mjs';
