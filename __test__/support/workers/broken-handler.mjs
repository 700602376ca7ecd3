// A worker module with a handler that is not a function.
export const handleTextMessage = 'not a function';
