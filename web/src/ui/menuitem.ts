import type { ReactNode } from 'react';

/** A line of a menu, and what it does. */
export interface MenuItem {
  name: string;
  content: ReactNode;
  onSelect: () => void;
  danger?: boolean;
  disabled?: boolean;
}
