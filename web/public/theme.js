// Sets the theme before anything is painted. A file of its own, since the server's policy allows no script in the page.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem('retinue.theme');
  } catch {
    // Storage is switched off: the system's theme is used.
  }
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = chosen ?? (dark ? 'dark' : 'light');
})();
