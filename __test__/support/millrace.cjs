// The CommonJS version of millrace.mjs.
module.exports = require('../../js/dist/index.js');
