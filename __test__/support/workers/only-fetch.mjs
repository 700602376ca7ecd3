// A worker module that only answers requests.
export default { fetch: () => new Response('a page') };
