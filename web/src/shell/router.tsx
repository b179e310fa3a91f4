import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
} from '@tanstack/react-router';
import { readSearch } from '../features/runs/filter';
import { Frame } from './frame';
import { Home } from './home';
import { NotFound } from './notfound';
import type { CallSearch, ConversationSearch, CostSearch, TimelineSearch } from './search';

type Raw = Record<string, unknown>;
const text = (raw: Raw, name: string) =>
  typeof raw[name] === 'string' && raw[name] !== '' ? { [name]: raw[name] } : {};
const number = (raw: Raw, name: string) =>
  Number.isFinite(Number(raw[name])) && raw[name] !== undefined
    ? { [name]: Number(raw[name]) }
    : {};
const selected = (raw: Raw): ConversationSearch => ({
  ...text(raw, 'agent'),
  ...text(raw, 'ask'),
  ...text(raw, 'tab'),
});
const groupings = new Set(['agent', 'role', 'model', 'turn']);

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound });
const home = createRoute({ getParentRoute: () => root, path: '/', component: Home });
const fresh = createRoute({
  getParentRoute: () => root,
  path: '/new',
  component: lazyRouteComponent(() => import('../features/new/page'), 'NewPage'),
});
const inbox = createRoute({
  getParentRoute: () => root,
  path: '/inbox',
  component: lazyRouteComponent(() => import('../features/inbox/page'), 'InboxPage'),
});
const conversation = createRoute({
  getParentRoute: () => root,
  path: '/c/$id',
  component: lazyRouteComponent(() => import('./conversation'), 'ConversationFrame'),
});
const chat = createRoute({
  getParentRoute: () => conversation,
  path: '/',
  validateSearch: selected,
  component: lazyRouteComponent(() => import('../features/chat/page'), 'ChatPage'),
});
const timeline = createRoute({
  getParentRoute: () => conversation,
  path: '/timeline',
  validateSearch: (raw: Raw): TimelineSearch => ({
    ...selected(raw),
    ...number(raw, 'from'),
    ...number(raw, 'to'),
    ...(raw.fold === undefined ? {} : { fold: raw.fold === true || raw.fold === 1 }),
  }),
  component: lazyRouteComponent(() => import('../features/timeline/page'), 'TimelinePage'),
});
const cost = createRoute({
  getParentRoute: () => conversation,
  path: '/cost',
  validateSearch: (raw: Raw): CostSearch => ({
    ...selected(raw),
    ...(groupings.has(String(raw.by)) ? text(raw, 'by') : {}),
  }),
  component: lazyRouteComponent(() => import('../features/cost/page'), 'CostPage'),
});
const call = createRoute({
  getParentRoute: () => conversation,
  path: '/calls/$callId',
  validateSearch: (raw: Raw): CallSearch => ({
    ...selected(raw),
    ...text(raw, 'of'),
    ...text(raw, 'task'),
    ...(raw.kind === 'model' || raw.kind === 'tool' ? { kind: raw.kind } : {}),
  }),
  component: lazyRouteComponent(() => import('../features/calls/page'), 'CallPage'),
});
const roles = createRoute({
  getParentRoute: () => root,
  path: '/roles',
  component: lazyRouteComponent(() => import('../features/roles/page'), 'RolesPage'),
});
const role = createRoute({
  getParentRoute: () => root,
  path: '/roles/$roleId',
  component: lazyRouteComponent(() => import('../features/roles/page'), 'RolePage'),
});
const runs = createRoute({
  getParentRoute: () => root,
  path: '/runs',
  validateSearch: readSearch,
  component: lazyRouteComponent(() => import('../features/runs/page'), 'RunsPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('../features/settings/page'), 'SettingsPage'),
});
const settingsPart = createRoute({
  getParentRoute: () => root,
  path: '/settings/$part',
  component: lazyRouteComponent(() => import('../features/settings/page'), 'SettingsPage'),
});

const routeTree = root.addChildren([
  home,
  fresh,
  inbox,
  conversation.addChildren([chat, timeline, cost, call]),
  roles,
  role,
  runs,
  settings,
  settingsPart,
]);

export const router = createRouter({ routeTree, defaultPreload: 'intent' });

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
