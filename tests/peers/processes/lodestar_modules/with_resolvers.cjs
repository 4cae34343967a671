// Node 20 lacks what a dependency of Lodestar calls.
Promise.withResolvers ??= () => {
  const found = {};
  found.promise = new Promise((resolve, reject) => Object.assign(found, { resolve, reject }));
  return found;
};
