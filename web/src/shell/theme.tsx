import { Moon, Sun } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { IconButton } from '../ui/button';

export type Theme = 'light' | 'dark';

/** What a person chose: a theme, or whatever their system has. */
export type ThemeChoice = Theme | 'system';

const PLACE = 'retinue.theme';
const DARK = '(prefers-color-scheme: dark)';
const listeners = new Set<() => void>();

const bySystem = (): Theme => (matchMedia(DARK).matches ? 'dark' : 'light');

function paint(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  for (const listener of listeners) listener();
}

/** Sets the theme and remembers it. public/theme.js reads it before the first paint. */
export function setTheme(choice: ThemeChoice): void {
  try {
    if (choice === 'system') localStorage.removeItem(PLACE);
    else localStorage.setItem(PLACE, choice);
  } catch {
    // Storage is switched off: the theme lasts as long as the tab.
  }
  paint(choice === 'system' ? bySystem() : choice);
}

export function themeChoice(): ThemeChoice {
  try {
    const kept = localStorage.getItem(PLACE);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    return 'system';
  }
}

const shownTheme = (): Theme =>
  document.documentElement.dataset.theme === 'dark' ? 'dark' : 'light';

export const otherTheme = (): Theme => (shownTheme() === 'dark' ? 'light' : 'dark');

/** Keeps to the system's theme while nobody chose another, on every page for as long as it is open. */
export function followSystem(): void {
  matchMedia(DARK).addEventListener('change', () => {
    if (themeChoice() === 'system') paint(bySystem());
  });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, shownTheme);
export const useThemeChoice = (): ThemeChoice => useSyncExternalStore(subscribe, themeChoice);

export function ThemeButton() {
  const theme = useTheme();
  const next = otherTheme();
  return (
    <IconButton label={`Switch to ${next} theme`} onClick={() => setTheme(next)}>
      {theme === 'dark' ? (
        <Sun className="size-4" aria-hidden="true" />
      ) : (
        <Moon className="size-4" aria-hidden="true" />
      )}
    </IconButton>
  );
}
