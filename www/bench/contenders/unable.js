/** Contenders that cannot do a job: they stand in the tables with their reason. */
export const unable = (name, reason) => ({ name, timing: 'none', precision: 'f64', cannot: () => reason, prepare: () => Promise.reject(new Error(reason)) });
