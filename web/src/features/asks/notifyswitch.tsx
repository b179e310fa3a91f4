import { Bell, BellOff } from 'lucide-react';
import { Button } from '../../ui/button';
import { switchOff, switchOn, useNotifyState } from './notify';

/** Whether the browser tells a person that something waits. For the inbox and the settings. */
export function NotifySwitch() {
  const state = useNotifyState();
  switch (state) {
    case 'absent':
      return <p className="text-fg-3 text-sm">This browser has no notifications.</p>;
    case 'refused':
      return (
        <p className="text-fg-3 text-sm">
          Your browser refuses notifications from here. You can change that in its settings for this
          site.
        </p>
      );
    case 'on':
      return (
        <Button look="ghost" onClick={switchOff}>
          <BellOff className="size-4" aria-hidden="true" />
          Stop notifying me
        </Button>
      );
    case 'off':
      return (
        <Button onClick={() => void switchOn()}>
          <Bell className="size-4" aria-hidden="true" />
          Notify me
        </Button>
      );
  }
}
