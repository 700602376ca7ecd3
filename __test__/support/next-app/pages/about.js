// A page that is rendered when the app is built.
export default function About() {
  return 'About';
}
