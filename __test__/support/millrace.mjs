// The one place where the tests name the package under test.
export * from '../../js/dist/index.mjs';
