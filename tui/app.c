/* app.c - (not written yet) */
