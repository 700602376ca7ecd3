// A page that is rendered for each request.
export default function Page({ url, agent }) {
  return `Hello ${url} ${agent}`;
}

export function getServerSideProps({ req, res }) {
  res.setHeader('X-Page', '1');
  return { props: { url: req.url, agent: req.headers['user-agent'] ?? 'nobody' } };
}
