// VitePress's default theme with system fonts, so that nothing is downloaded, and our colours.
import theme from 'vitepress/theme-without-fonts';

import './style.css';

export default theme;
