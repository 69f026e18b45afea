// What happens on an instance, told to a page while it is open.
import { useEffect, useRef, useState } from "preact/hooks";
import { query, socketAt } from "./api.js";

const pause = 2000; // milliseconds before a lost connection is tried again

// useFeed calls tell with each event of an instance that is in names, and again when the
// connection is back after it was lost: something was missed. It returns whether it
// is open.
export function useFeed(instance, names, tell, again) {
  const [open, setOpen] = useState(false);
  const latest = useRef({});
  latest.current = { tell, again };
  useEffect(() => {
    if (!instance) return;
    let socket, timer = 0, over = false, lost = false;
    const dial = () => {
      socket = new WebSocket(socketAt("/ws/instance/events" + query({ event: names, instance })));
      socket.addEventListener("open", () => {
        setOpen(true);
        if (lost) latest.current.again();
        lost = false;
      });
      socket.addEventListener("message", ({ data }) => latest.current.tell(JSON.parse(data)));
      socket.addEventListener("close", () => {
        if (over) return;
        lost = true;
        setOpen(false);
        timer = setTimeout(dial, pause);
      });
    };
    dial();
    return () => { over = true; clearTimeout(timer); socket.close(); };
  }, [instance]);
  return open;
}
