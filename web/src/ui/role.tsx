import {
  BookOpen,
  Bug,
  CodeXml,
  Crown,
  FlaskConical,
  type LucideIcon,
  Map as MapIcon,
  ScanSearch,
  Telescope,
} from 'lucide-react';
import { cx } from './classes';

interface Look {
  hue: number;
  icon?: LucideIcon;
}

// Role colour is on tiles and on the bars of the timeline, never on text or borders.
const known: Record<string, Look> = {
  main: { hue: 265, icon: Crown },
  planner: { hue: 300, icon: MapIcon },
  researcher: { hue: 215, icon: Telescope },
  reader: { hue: 215, icon: BookOpen },
  code_search: { hue: 215, icon: ScanSearch },
  coder: { hue: 262, icon: CodeXml },
  tester: { hue: 175, icon: FlaskConical },
  reviewer: { hue: 345, icon: ScanSearch },
  code_review: { hue: 345, icon: ScanSearch },
  debugger: { hue: 45, icon: Bug },
};

// None of them is near amber.
const hues = [110, 20, 330, 140, 235] as const;

function lookOf(role: string): Look {
  const look = known[role];
  if (look) return look;
  let hash = 0;
  for (const letter of role) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
  return { hue: hues[hash % hues.length] ?? hues[0] };
}

/** The hue of a role, for `data-hue` beside the classes `role role-solid` on a bar. */
export const roleHue = (role: string): number => lookOf(role).hue;

/** A role's name for people. */
export function roleName(role: string): string {
  if (role === 'main') return 'Orchestrator';
  const words = role.replaceAll(/[_-]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const sizes = { small: 'size-[18px]', medium: 'size-[22px]', large: 'size-8' } as const;

/** The picture of a role. Its name stands beside it. */
export function RoleTile({
  roleId,
  size = 'medium',
}: {
  roleId: string;
  size?: keyof typeof sizes;
}) {
  const { hue, icon: Icon } = lookOf(roleId);
  return (
    <span
      data-hue={hue}
      className={cx('role role-tile grid shrink-0 place-items-center rounded-[6px]', sizes[size])}
      aria-hidden="true"
    >
      {Icon ? (
        <Icon className="size-[60%]" strokeWidth={1.9} />
      ) : (
        <span className="font-semibold text-2xs">{roleName(roleId).charAt(0)}</span>
      )}
    </span>
  );
}
