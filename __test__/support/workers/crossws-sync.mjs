// An adapter for crossws with a sync driver, which worker threads refuse.
import millraceAdapter from '../millrace-crossws.mjs';

export default millraceAdapter({ hooks: {}, sync: () => ({ subscribe() {}, publish() {} }) }).handlers;
