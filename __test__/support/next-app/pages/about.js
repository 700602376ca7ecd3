// A page that is made when the app is built.
export default function About() {
  return 'About';
}
