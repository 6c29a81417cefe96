// Shows what a page of ours asks it to, and leads to that page: on phones nobody else may. It keeps nothing and answers
// no request.
"use strict";
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("notificationclick", (event) => {
  const { page } = event.notification.data;
  event.notification.close();
  event.waitUntil((async () => {
    const tabs = await clients.matchAll({ type: "window" });
    const tab = tabs.find(({ url }) => new URL(url).pathname === page);
    return tab ? tab.focus() : clients.openWindow(page);
  })());
});
