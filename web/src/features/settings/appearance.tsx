import { setTheme, type ThemeChoice, useThemeChoice } from '../../shell/theme';
import { cx } from '../../ui/classes';
import { Section } from './parts';

const choices: readonly [ThemeChoice, string][] = [
  ['light', 'Light'],
  ['dark', 'Dark'],
  ['system', 'System'],
];

/** How the app looks. It is kept in this browser. */
export function Appearance() {
  const chosen = useThemeChoice();
  return (
    <Section title="Theme" lead="Kept in this browser.">
      <fieldset className="flex flex-wrap gap-2">
        <legend className="sr-only">Theme</legend>
        {choices.map(([choice, name]) => (
          <label
            key={choice}
            className={cx(
              'flex h-11 min-w-32 items-center gap-2 rounded-lg border bg-surface px-4 text-sm hover:bg-hover',
              chosen === choice ? 'border-fg font-medium' : 'border-line-control',
            )}
          >
            <input
              type="radio"
              name="theme"
              checked={chosen === choice}
              onChange={() => setTheme(choice)}
              className="size-4 accent-(--accent)"
            />
            {name}
          </label>
        ))}
      </fieldset>
    </Section>
  );
}
