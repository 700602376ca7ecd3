// A worker module that cannot be imported: it throws.
throw new Error('this module throws');
