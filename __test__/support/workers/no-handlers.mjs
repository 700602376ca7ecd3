// A worker module that handles nothing.
export const unrelated = true;
