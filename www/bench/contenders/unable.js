/** Contenders that cannot run a job; the tables show their reason. */
export const unable = (name, reason) => ({ name, timing: 'none', precision: 'f64', cannot: () => reason, prepare: () => Promise.reject(new Error(reason)) });
