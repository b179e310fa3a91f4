import {
  cloneElement,
  type HTMLAttributes,
  type KeyboardEvent,
  lazy,
  type ReactElement,
  Suspense,
  useState,
} from 'react';
import type { MenuItem } from './menuitem';

const load = () => import('./menu').then((module) => ({ default: module.Menu }));
const Menu = lazy(load);

/** A button with a menu. What the menu is made of is loaded when somebody is about to press it. */
export function MenuButton({
  button,
  items,
}: {
  button: ReactElement<HTMLAttributes<HTMLElement>>;
  items: readonly MenuItem[];
}) {
  const [pressed, setPressed] = useState(false);
  const press = () => setPressed(true);
  const waiting = cloneElement(button, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onPointerEnter: () => void load(),
    onFocus: () => void load(),
    onClick: press,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== 'ArrowDown') return;
      event.preventDefault();
      press();
    },
  });
  if (!pressed) return waiting;
  return (
    <Suspense fallback={waiting}>
      <Menu button={button} items={items} />
    </Suspense>
  );
}
