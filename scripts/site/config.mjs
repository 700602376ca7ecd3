// The VitePress configuration for the pages that scripts/docs.mjs prepares. Loads nothing from other hosts.
import { readFileSync } from 'node:fs';
import path from 'node:path';

import { anchorOf } from '../page-links.mjs';

// VitePress bundles this file, and runs in the folder of the pages
const { title, description, version, sidebar, api } = JSON.parse(
  readFileSync(path.join(process.env.MILLRACE_SITE ?? '.', 'navigation.json'), 'utf8'),
);

export default {
  title,
  description,
  lang: 'en',
  outDir: 'dist',
  cacheDir: 'cache',
  lastUpdated: false,
  cleanUrls: false,
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: '/logo.svg' }],
    ['meta', { name: 'theme-color', content: '#1f6f8b' }],
  ],
  markdown: {
    // as the pages have them in the repository
    anchor: { slugify: anchorOf },
    theme: { light: 'github-light', dark: 'github-dark' },
  },
  themeConfig: {
    logo: '/logo.svg',
    nav: [
      { text: 'Guides', link: '/getting-started', activeMatch: '^/(?!api/|changelog)' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: version, link: '/changelog' },
    ],
    sidebar: { ...api, '/': sidebar },
    outline: { level: [2, 3] },
    search: { provider: 'local' },
    docFooter: { prev: 'Before', next: 'Next' },
    externalLinkIcon: true,
  },
};
