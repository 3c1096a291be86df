int EngineRun();

int main() { return EngineRun(); }
