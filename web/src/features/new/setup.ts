import type { Settings } from '../../api/installation';
import type { Schemas } from '../../api/types';

/** One thing to do before everything works. */
export interface Step {
  name: string;
  done: boolean;
  /** What is missing, and how to get it. */
  help?: string;
  /** The part of the settings that says more. */
  part?: 'providers';
}

interface Known {
  live: boolean;
  settings: Settings | undefined;
  files: Schemas['FileList'] | undefined;
  conversations: number;
}

/** The steps of setting up, as far as they have come. Nothing is kept: each is looked at. */
export function setupSteps({ live, settings, files, conversations }: Known): Step[] {
  return [
    { name: 'The server is running', done: live },
    provider(settings),
    workspace(settings, files),
    {
      name: 'Ask for something',
      done: conversations > 0,
      help: 'Take one of the ideas, or write your own.',
    },
  ];
}

function provider(settings: Settings | undefined): Step {
  if (settings?.mode === 'demo') return { name: 'The demo’s scripted model answers', done: true };
  const ready = settings?.tiers.some((tier) => {
    const name = tier.model?.split('/')[0];
    return settings.providers.some((each) => each.name === name && each.has_key);
  });
  return {
    name: 'A model provider is connected',
    done: ready ?? false,
    help: 'Give a provider its key, such as ANTHROPIC_API_KEY, and start the server again.',
    part: 'providers',
  };
}

function workspace(settings: Settings | undefined, files: Schemas['FileList'] | undefined): Step {
  // A shared server's workspaces are where its workers are, and nobody here can choose them.
  if (settings?.mode === 'hosted') return { name: 'Workspaces are the server’s', done: true };
  return {
    name: 'A folder to work in',
    done: files !== undefined && files.reason === undefined && files.items.length > 0,
    help: files?.reason ?? 'It is the folder in which retinue up was started, and it is empty.',
  };
}

/** Whether the list has done its work and goes away. */
export const isSetUp = (steps: readonly Step[]): boolean => steps.every((step) => step.done);
