// Runs before the first paint, so that a chosen theme does not flash. Without a choice the system decides.
try {
  const theme = localStorage.getItem("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be switched off; the page works without it.
}
